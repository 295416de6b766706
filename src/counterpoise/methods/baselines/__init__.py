"""Other searchers: the paper's Algorithm 1 and the methods it is compared with."""
