"""The load test: an open loop of arrivals, and the rate at which a system saturates."""
