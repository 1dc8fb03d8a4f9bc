"""What is fitted to judged questions: confidences, the scale of sentences, and when stages stop."""
