"""The recrawl laboratory: the systems of four papers, each beside its published figures."""
