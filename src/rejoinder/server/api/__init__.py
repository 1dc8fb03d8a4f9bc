"""The routes of other services, each as its clients know them."""
