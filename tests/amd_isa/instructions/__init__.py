"""Single instructions of AMD GPUs, each with the results that AMD's instruction set guides demand."""
