"""The README's example: one alert, one sentence."""

from sklearn.ensemble import HistGradientBoostingClassifier

import counterpoise as cp
from counterpoise import telemetry

train, label, _ = telemetry.simulate(seed=0)
detector = HistGradientBoostingClassifier(random_state=0).fit(train, label)
schema = telemetry.describe(cp.Schema.infer(train))  # units, and names for people
explanation = cp.explain(detector, telemetry.PAPER_ALERT, reference=train, schema=schema, target="benign")
print(explanation[0].text())
