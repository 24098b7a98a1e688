import { init, key, normal, valueAndGrad, jit, tidy, type Tensor } from "./mod.ts";
import { controlledLayer } from "./src/models/structured/controlled_layer.ts";
await init({device:"cpu"});
const x=normal(key(2),[16,4096,128]);
const layer=controlledLayer("x",{inputs:128,features:128,stateSize:128,structure:{blockSize:4},form:"euler",control:"values",signatureDepth:1,initialScale:0.1,slopeScale:1,key:key(0)});
const step=jit((x:Tensor)=>valueAndGrad(()=>layer.all(x).square().mean())(layer.parameters));
for(let i=0;i<Number(Deno.args[0]);i++){const t=performance.now();const v=tidy(()=>step(x)[0]);const s=await v.item();console.log("weft",((performance.now()-t)/1000).toFixed(3),s);}
