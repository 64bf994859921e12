"""Where waiting links live, and which of them is put forward next."""
