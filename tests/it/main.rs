mod cache;
