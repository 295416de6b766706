"""Rules of traffic: what must hold between the columns of a flow, and who could change which of them."""
