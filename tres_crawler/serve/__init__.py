"""The web service: crawls started, watched and stopped over REST."""
