import { init, key, normal, valueAndGrad, jit, Tensor, tidy, eye } from "./mod.ts";
await init({device:"cpu"});
const b=Number(Deno.args[0]??4), N=Number(Deno.args[1]??20480);
const a0=normal(key(0),[N,b,b]).mul(0.3);
const prods:Record<string,(a:Tensor,c:Tensor)=>Tensor>={
 matmul:(a,c)=>a.matmul(c),
 mulsum:(a,c)=>a.expandDims(-1).mul(c.expandDims(-3)).sum(-2),
 outer:(a,c)=>Array.from({length:b},(_,k)=>a.slice(-1,k,k+1).mul(c.slice(-2,k,k+1))).reduce((p,q)=>p.add(q)),
};
for(const [name,prod] of Object.entries(prods)){
  const f=(a:Tensor)=>{ let e=a.mul(1/64); const x2=prod(e,e); e=e.add(x2.mul(0.5)).add(prod(x2,e).mul(1/6)); for(let i=0;i<6;i++) e=e.mul(2).add(prod(e,e)); return e.square().mean();};
  const step=jit((a:Tensor)=>valueAndGrad(f)(a)[1]);
  for(const [mode,g] of [["eager",(a:Tensor)=>valueAndGrad(f)(a)[1]],["jit",step]] as const){
  for(let i=0;i<3;i++){const t=performance.now();const r=tidy(()=>g(a0));await r.data();if(i===2)console.log(name,mode,(performance.now()-t).toFixed(1));}}
}
