import { init, key, normal, valueAndGrad, jit, tidy, type Tensor } from "./mod.ts";
import { blockRecurrence, chunkSize } from "./src/models/structured/block_recurrence.ts";
import { matrixExponential } from "./src/models/structured/exponential.ts";
await init({device:"cpu"});
for (const [L,B,nb,b] of [[4096,1,16,4],[4096,1,32,2],[4096,1,64,1],[4096,4,16,4],[4096,1,4,16],[1024,1,16,4],[4096,8,32,2],[4096,8,64,1]]){
  const T=normal(key(0),[L,B,nb,b,b]).mul(0.3); const h=normal(key(1),[B,nb*b]);
  const best=chunkSize(L,B,b);
  const out:string[]=[];
  for(const size of [0,16,64,128]){
    const step=jit((T:Tensor,h:Tensor)=>valueAndGrad((T:Tensor)=>blockRecurrence(T,h,size).square().mul(0.5).sum())(T)[1]);
    let least=1e9; for(let i=0;i<4;i++){const t=performance.now(); await tidy(()=>step(T,h).sum()).item(); least=Math.min(least,performance.now()-t);}
    out.push(`${size}: ${least.toFixed(0)}`);
  }
  console.log([L,B,nb,b].join("x"),"chosen",best,out.join("  "));
}
