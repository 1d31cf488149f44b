/* A library that is called as HIP's, and does nothing. */
int hipInit(unsigned flags) { return (int)flags; }
