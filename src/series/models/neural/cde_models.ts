/** Neural differential equations of whole series. */
export { NeuralCDE } from "../../../models/cde/neural_cde.ts";
export { NeuralRDE } from "../../../models/cde/neural_rde.ts";
export { LogNCDE } from "../../../models/cde/log_ncde.ts";
export { DirectNeuralODE } from "../../../models/direct_neural_ode.ts";
export { GRUODE } from "../../../models/gru_ode.ts";
