"""The same statements on our engine and on InnoDB."""
