import { createMemoryPair } from "portolan";
import { createServer, serveChannel, withJsonSchema, inputRequired, ToolError } from "portolan/server";
import { RpcError } from "portolan";
import { z as z3 } from "zod-3-25";
import { z as z40 } from "zod-4-0";
import { z as z41 } from "zod-4-1";
import { z } from "zod";
import * as v from "valibot";
import { toJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
let pays=0;
const server = createServer({ name: "p", version: "1" }, {cache:{ttlMs:1000,cacheScope:"public"}, onError(){} })
 .tool("z3",{input:z3.object({a:z3.number().default(2)}),run:({a})=>a})
 .tool("z40",{input:z40.object({a:z40.number().default(2)}),run:({a})=>`${a}`})
 .tool("z41",{input:z41.object({a:z41.number().default(2)}),run:({a})=>`${a}`})
 .tool("val",{input:withJsonSchema(v.object({a:v.number()}),toJsonSchema),run:({a})=>`${a}`})
 .tool("ark",{input:type({a:"number > 0"}),run:({a})=>[a]})
 .tool("js",{input:{type:"object",properties:{a:{type:"number"}},required:["a"]},run:({a})=>({a})})
 .tool("rpc",{run(){throw new RpcError(-32042,"x",{data:{a:1}})}})
 .tool("rpc2",{run(){throw new RpcError(1001,"quota used up",{data:{a:1}})}})
 .tool("pay",{async run(_,ctx){ const ok=await ctx.confirm("a","A?"); const n=await ctx.once("pay",()=>++pays); return `${ok} ${n}`}})
 
 .resource("x://toolerror",{read(){throw new ToolError("nope")}})
 .resource("x://rpc",{read(){throw new RpcError(1001,"nope")}});
async function peer(rev){
 const [near,far]=createMemoryPair({serialize:true}); serveChannel(server,far);
 const w=new Map(); let id=0;
 near.open({message(m){ if("method" in m) console.log("  <-",JSON.stringify(m)); else w.get(m.id)(m)},batch(){},unreadable(){},closed(){}});
 const req=(method,params={})=>new Promise(r=>{w.set(++id,r);near.send({jsonrpc:"2.0",id,method,params:rev==="2026-07-28"?{...params,_meta:{"io.modelcontextprotocol/protocolVersion":rev,"io.modelcontextprotocol/clientCapabilities":{elicitation:{}}}}:params})});
 if(rev!=="2026-07-28"){ await req("initialize",{protocolVersion:rev,capabilities:{elicitation:{}},clientInfo:{name:"a",version:"1"}}); }
 return req;
}
for (const rev of ["2024-11-05","2025-11-25","2026-07-28"]) { console.log("##",rev); const req=await peer(rev);
 const s=(x)=>console.log("   ",JSON.stringify(x.result??x.error));
 for (const [n,a] of [["z3",{}],["z40",{}],["z41",{a:"x"}],["val",{a:1}],["val",{a:"1"}],["ark",{a:1}],["ark",{a:-1}],["js",{a:1}],["js",{}],["rpc",{}],["rpc2",{}],["nosuch",{}],["pay",{}]]) { if(n==="pay"&&rev==="2025-11-25")continue; console.log(n,JSON.stringify(a)); s(await req("tools/call",{name:n,arguments:a})); }
 s(await req("resources/read",{uri:"x://toolerror"})); s(await req("resources/read",{uri:"x://rpc"})); s(await req("resources/read",{uri:"x://none"}));
 if(rev==="2026-07-28"){ const r=(await req("tools/call",{name:"pay"})).result; const again={name:"pay",requestState:r.requestState,inputResponses:{a:{action:"accept"}}}; s(await req("tools/call",again)); s(await req("tools/call",again)); console.log(JSON.stringify((await req("tools/list")).result).slice(-300));console.log(JSON.stringify((await req("server/discover")).result)); }
}
