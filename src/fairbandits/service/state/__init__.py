"""What follows from the log: the served recommender, its catalogue, the monitor and its findings."""
