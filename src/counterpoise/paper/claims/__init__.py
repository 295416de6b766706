"""Every claim of the paper, held against the numbers of the page: one verdict on its method, one on ours."""
