"""
Does recourse cost everybody the same?
======================================

Two groups can be refused equally often and still need unequal effort to be accepted. Here a lender looks at income and
debt, not at the group; but in one group incomes are lower. The group itself is never changed.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

import counterpoise as cp

rng = np.random.default_rng(0)
group = rng.choice(["A", "B"], 1500)
people = pd.DataFrame(
    {
        "income": (rng.normal(38, 9, 1500) - 7 * (group == "B")).round(1),
        "debt": rng.gamma(2, 4, 1500).round(1),
        "years_employed": rng.integers(0, 25, 1500),
    }
)
accepted = people["income"] + 0.5 * people["years_employed"] - people["debt"] + rng.normal(0, 3, 1500) > 32
lender = HistGradientBoostingClassifier(max_iter=60, random_state=0).fit(people, np.where(accepted, "yes", "no"))

no = people[lender.predict(people) == "no"]
refused = no.groupby(group[no.index]).head(40)
explanation = cp.explain(lender, refused, reference=people, target="yes", constraints=cp.Increasing("years_employed"))

# %%
# The effort that each refused person would need, by group:

effort = pd.DataFrame({"group": group[refused.index], "effort": explanation.effort})
print(effort.groupby("group")["effort"].describe()[["count", "50%", "mean"]].round(2))
effort.boxplot(column="effort", by="group", grid=False)
plt.suptitle("")
plt.title("Effort to be accepted, in standard deviations")
plt.ylabel("effort")
plt.show()

# %%
# The gap is a statement about this model and these columns. Whether it is unjust is for people to say; without the
# number nobody would ask.
