"""How the next link is chosen, and what is learned from what came of it."""
