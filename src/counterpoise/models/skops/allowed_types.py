"""What a skops file may name without being trusted: the types that fitted scikit-learn models are made of.

A skops file is a tree of nodes. Each node says how it is to be built (its loader) and from which class or function (its
name), and skops calls whatever is named. A name is therefore only allowed together with the loader that models need it
with; everything that is not listed here needs ``trust=True``.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

NUMBERS = (
    *("bool", "bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("longlong", "ulonglong", "float16", "float32", "float64", "longdouble", "complex64", "complex128"),
)
UFUNCS = (
    *("absolute", "cbrt", "ceil", "cos", "cosh", "deg2rad", "exp", "exp2", "expm1", "fabs", "floor", "log", "log10"),
    *("log1p", "log2", "negative", "positive", "rad2deg", "reciprocal", "rint", "sign", "sin", "sinh", "sqrt"),
    *("square", "tan", "tanh", "trunc", "arcsinh", "arctan"),
)


class Entry(NamedTuple):
    """Names of one module that a loader may build, and why no harm comes from it."""

    loader: str
    module: str
    names: tuple[str, ...]
    reason: str


ENTRIES: tuple[Entry, ...] = (
    # Plain values and containers.
    Entry("JsonNode", "builtins", ("str",), "a number, a text, true, false or null"),
    Entry("ListNode", "builtins", ("list",), "a list of other nodes"),
    Entry("TupleNode", "builtins", ("tuple",), "a tuple of other nodes"),
    Entry("SetNode", "builtins", ("set",), "a set of other nodes, such as stop words"),
    Entry("DictNode", "builtins", ("dict",), "attributes and parameters by name"),
    Entry("DictNode", "sklearn.utils._bunch", ("Bunch",), "a dict whose keys can be read as attributes"),
    Entry("SliceNode", "builtins", ("slice",), "the columns of a ColumnTransformer"),
    Entry("TypeNode", "builtins", ("str", "int", "float", "bool"), "the types of the keys of a dict"),
    Entry("TypeNode", "builtins", ("object",), "the dtype parameter of an encoder; it takes no arguments"),
    Entry("TypeNode", "numpy", (*NUMBERS, "number", "str_", "object_"), "the dtype parameter of a transformer"),
    # Arrays and random states.
    Entry("NdArrayNode", "numpy", ("ndarray",), "an array, read without pickle; its size is checked against the file"),
    Entry("NdArrayNode", "numpy", (*NUMBERS, "str_"), "one number or text of an array"),
    Entry("MaskedArrayNode", "numpy.ma", ("MaskedArray",), "the results of a parameter search"),
    Entry("MaskedArrayNode", "numpy.ma.core", ("MaskedArray",), "the same, as NumPy before 2.4 names it"),
    Entry("DTypeNode", "numpy", ("dtype",), "a dtype, read from an empty array"),
    Entry("RandomStateNode", "numpy.random.mtrand", ("RandomState",), "the random state of an estimator"),
    Entry("RandomGeneratorNode", "numpy.random._generator", ("Generator",), "that of histogram gradient boosting"),
    *(
        Entry("SparseMatrixNode", f"scipy.sparse._{form}", (f"{form}_matrix", f"{form}_array"), "a sparse array")
        for form in ("csr", "csc", "coo", "bsr", "dia")
    ),
    # Functions that a model may hold. Those of the first two kinds are applied to columns when it predicts.
    Entry("FunctionNode", "numpy", UFUNCS, "one number in, one number out, as in FunctionTransformer(np.log1p)"),
    Entry("FunctionNode", "numpy._core._multiarray_umath", UFUNCS, "the same, as NumPy 2.0 names them"),
    *(
        Entry("FunctionNode", f"scipy.special.{module}", ("expit", "logit", "log1p", "expm1"), "one number in, one out")
        for module in ("_ufuncs", "_special_ufuncs")  # before and since SciPy 1.15
    ),
    Entry("FunctionNode", "numpy", ("mean",), "the mean of columns, in FeatureAgglomeration"),
    Entry(
        "FunctionNode",
        "scipy._lib.array_api_compat.numpy._aliases",
        ("asarray",),
        "a spline keeps it beside its coefficients; it converts arrays",
    ),
    Entry(
        "FunctionNode",
        "sklearn.feature_selection._univariate_selection",
        ("chi2", "f_classif", "f_regression", "r_regression"),
        "the score of SelectKBest and its kin: a statistic of arrays, asked when fitting only",
    ),
    Entry(
        "FunctionNode",
        "sklearn.feature_selection._mutual_info",
        ("mutual_info_classif", "mutual_info_regression"),
        "the same",
    ),
    Entry(
        "FunctionNode",
        "sklearn.metrics._classification",
        (
            *("accuracy_score", "balanced_accuracy_score", "brier_score_loss", "f1_score", "jaccard_score", "log_loss"),
            *("matthews_corrcoef", "precision_score", "recall_score"),
        ),
        "what a parameter search was scored with: a number from two arrays, asked when fitting only",
    ),
    Entry(
        "FunctionNode",
        "sklearn.metrics._ranking",
        ("average_precision_score", "roc_auc_score", "top_k_accuracy_score"),
        "the same",
    ),
    Entry(
        "FunctionNode",
        "sklearn.metrics._regression",
        (
            *("explained_variance_score", "max_error", "mean_absolute_error", "mean_absolute_percentage_error"),
            *("mean_gamma_deviance", "mean_poisson_deviance", "mean_squared_error", "mean_squared_log_error"),
            *("median_absolute_error", "r2_score", "root_mean_squared_error", "root_mean_squared_log_error"),
        ),
        "the same",
    ),
    # Parts of fitted estimators that are no estimators themselves: classes of Python code that hold arrays and numbers.
    Entry("TreeNode", "sklearn.tree._tree", ("Tree",), "a decision tree; where its nodes lead is checked"),
    Entry(
        "ObjectNode",
        "sklearn.ensemble._hist_gradient_boosting.predictor",
        ("TreePredictor",),
        "a boosted tree; where its nodes lead is checked",
    ),
    Entry(
        "ObjectNode",
        "sklearn.ensemble._hist_gradient_boosting.binning",
        ("_BinMapper",),
        "the bins of histogram gradient boosting",
    ),
    Entry(
        "ObjectNode",
        "sklearn._loss.link",
        ("HalfLogitLink", "IdentityLink", "Interval", "LogLink", "LogitLink", "MultinomialLogit"),
        "the link between scores and predictions, without attributes that are called",
    ),
    Entry(
        "ObjectNode",
        "sklearn._loss.loss",
        (
            *("AbsoluteError", "ExponentialLoss", "HalfBinomialLoss", "HalfGammaLoss", "HalfMultinomialLoss"),
            *("HalfPoissonLoss", "HalfSquaredError", "HalfTweedieLoss", "HalfTweedieLossIdentity", "HuberLoss"),
            "PinballLoss",
        ),
        "the loss that boosting and linear models were fitted with",
    ),
    Entry(
        "LossNode",
        "sklearn._loss._loss",
        (
            *("CyAbsoluteError", "CyExponentialLoss", "CyHalfBinomialLoss", "CyHalfGammaLoss", "CyHalfMultinomialLoss"),
            *("CyHalfPoissonLoss", "CyHalfSquaredError", "CyHalfTweedieLoss", "CyHalfTweedieLossIdentity"),
            *("CyHuberLoss", "CyPinballLoss"),
        ),
        "the compiled part of a loss, which holds at most one number",
    ),
    Entry(
        "LossNode",
        "sklearn.linear_model._sgd_fast",
        (
            *("EpsilonInsensitive", "Hinge", "Huber", "Log", "ModifiedHuber", "SquaredEpsilonInsensitive"),
            *("SquaredHinge", "SquaredLoss"),
        ),
        "the same, of stochastic gradient descent",
    ),
    Entry(
        "ObjectNode",
        "sklearn.calibration",
        ("_CalibratedClassifier", "_SigmoidCalibration", "_TemperatureScaling"),
        "the parts of a calibrated classifier",
    ),
    Entry("ObjectNode", "sklearn.multiclass", ("_ConstantPredictor",), "the part of a class that every row has"),
    Entry("ObjectNode", "sklearn.gaussian_process._gpc", ("_BinaryGaussianProcessClassifierLaplace",), "a part of it"),
    Entry(
        "ObjectNode",
        "sklearn.gaussian_process.kernels",
        (
            *("CompoundKernel", "ConstantKernel", "DotProduct", "ExpSineSquared", "Exponentiation", "Matern"),
            *("PairwiseKernel", "Product", "RBF", "RationalQuadratic", "Sum", "WhiteKernel"),
        ),
        "a kernel: numbers, other kernels, and the name of a metric",
    ),
    Entry("ObjectNode", "sklearn.neighbors._kd_tree", ("KDTree",), "neighbours; where its nodes lead is checked"),
    Entry("ObjectNode", "sklearn.neighbors._ball_tree", ("BallTree",), "neighbours; where its nodes lead is checked"),
    Entry(
        "ObjectNode",
        "sklearn.metrics._dist_metrics",
        ("ChebyshevDistance64", "EuclideanDistance64", "ManhattanDistance64", "MinkowskiDistance64"),
        "the distance of a tree of neighbours; PyFuncDistance64, which calls a function, is not here",
    ),
    Entry("ObjectNode", "scipy.interpolate._bsplines", ("BSpline",), "a spline; its knots are checked"),
    Entry(
        "ObjectNode",
        "sklearn.neural_network._stochastic_optimizers",
        ("AdamOptimizer", "SGDOptimizer"),
        "how a network was fitted: arrays and numbers",
    ),
    Entry(
        "ObjectNode",
        "sklearn.compose._column_transformer",
        ("_RemainderColsList", "make_column_selector"),
        "the columns of a ColumnTransformer: names, or a pattern of names and dtypes",
    ),
    Entry(
        "ObjectNode",
        "sklearn.metrics._scorer",
        ("_CurveScorer", "_MultimetricScorer", "_PassthroughScorer", "_Scorer"),
        "what a parameter search was scored with; holds one of the functions above",
    ),
    Entry(
        "ObjectNode",
        "sklearn.model_selection._split",
        (
            *("GroupKFold", "GroupShuffleSplit", "KFold", "LeaveOneGroupOut", "LeaveOneOut", "PredefinedSplit"),
            *("RepeatedKFold", "RepeatedStratifiedKFold", "ShuffleSplit", "StratifiedGroupKFold", "StratifiedKFold"),
            *("StratifiedShuffleSplit", "TimeSeriesSplit", "_CVIterableWrapper"),
        ),
        "how a parameter search split its rows, asked when fitting only",
    ),
    Entry("TypeNode", "sklearn.model_selection._split", ("KFold", "StratifiedKFold"), "what a repeated split repeats"),
    Entry(
        "ObjectNode",
        "sklearn.utils._metadata_requests",
        ("MetadataRequest", "MethodMetadataRequest"),
        "which arguments a search passes on: names",
    ),
)


@cache
def allowed_names() -> dict[str, frozenset[str]]:
    """The names that each loader may build: those of the entries, and every estimator and transformer of scikit-learn.

    The constructor of an estimator is not run: skops sets its attributes, which are nodes of the file themselves.

    >>> "sklearn.linear_model._logistic.LogisticRegression" in allowed_names()["ObjectNode"]
    True
    >>> "numpy.log1p" in allowed_names()["FunctionNode"], "numpy.log1p" in allowed_names()["TypeNode"]
    (True, False)
    """
    from sklearn.utils import all_estimators

    found: dict[str, set[str]] = {entry.loader: set() for entry in ENTRIES}
    for entry in ENTRIES:
        found[entry.loader].update(f"{entry.module}.{name}" for name in entry.names)
    classes = [kind for _, kind in all_estimators() if kind.__module__.startswith("sklearn.")]
    found["ObjectNode"].update(f"{kind.__module__}.{kind.__name__}" for kind in classes)
    return {loader: frozenset(names) for loader, names in found.items()}
