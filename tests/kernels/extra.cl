kernel void extra(global int* x) { *x = 1; }
