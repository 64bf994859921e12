"""What is remembered: the only place that speaks SQL."""
