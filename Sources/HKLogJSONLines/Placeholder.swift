// placeholder until the first real file
