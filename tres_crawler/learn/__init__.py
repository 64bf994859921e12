"""What a link is worth, learned from what earlier links led to."""
