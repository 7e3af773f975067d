"""What is known of objects beside their scores, and kernels over scores and views together."""
