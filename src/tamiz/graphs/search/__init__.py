"""How neighbours are searched: exactly by blocks of products or a k-d tree, approximately by descent."""
