/** Models of whole series that read row after row, and the Transformer. */
export { IrregularGRU } from "../../../models/irregular_gru.ts";
export { Recurrent } from "../../../models/recurrent.ts";
export { Transformer } from "../../../models/transformer.ts";
