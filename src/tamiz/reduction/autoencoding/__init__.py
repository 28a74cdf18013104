"""Parts of the autoencoder: encoding of tables, network, loss of reconstructions, and training."""
