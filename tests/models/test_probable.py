"""A model asked for its probabilities: outputs that a threshold can be held against."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier

from counterpoise.errors import CapabilityError
from counterpoise.models.adapt import as_model
from counterpoise.models.probable import Probable
from counterpoise.space.features import Schema

TRAIN = pd.DataFrame({"a": [0.0, 1.0, 2.5, 3.0]})
SAYS = ["no", "no", "yes", "yes"]
X = TRAIN.to_numpy()


def test_outputs_are_the_users_own_probabilities():
    fitted = LogisticRegression().fit(TRAIN, SAYS)
    model = Probable(as_model(fitted, Schema.infer(TRAIN), X))
    np.testing.assert_allclose(model.outputs(X), fitted.predict_proba(TRAIN))
    np.testing.assert_array_equal(model.outputs(X), model.probabilities(X))
    assert model.predict(X).tolist() == fitted.predict(TRAIN).tolist()
    assert model.labels == ("no", "yes")
    assert model.link == "log"


def test_a_model_without_probabilities_cannot_be_asked():
    model = Probable(as_model(RidgeClassifier().fit(TRAIN, SAYS), Schema.infer(TRAIN), X))
    with pytest.raises(CapabilityError, match="needs a model with probabilities"):
        model.outputs(X)
