"""What is minimised: distance, regularisers, energy; and the noise an answer should withstand."""
