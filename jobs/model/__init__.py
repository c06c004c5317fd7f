"""What passes between the stages: plain values, and views of decoded rows."""
