"""The state that follows from the log: the served recommender with its catalogue, the monitor and its findings."""
