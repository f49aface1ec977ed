// @ts-check
/** Kernels as the page names them, and the parameters that each has. */

/** Names of kernels on the page. */
export const KERNEL_NAMES = {
  linear: "Linear",
  rbf: "RBF",
  poly: "Polynomial",
  laplacian: "Laplacian",
  sigmoid: "Sigmoid",
};

/** Parameters of each kernel. */
export const KERNEL_PARAMETERS = {
  linear: [],
  rbf: ["gamma"],
  laplacian: ["gamma"],
  poly: ["gamma", "degree", "coef0"],
  sigmoid: ["gamma", "coef0"],
};
