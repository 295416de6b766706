"""What a chunk of rows makes a method read: the problem, mu, and how a budget of model rows is shared out."""
