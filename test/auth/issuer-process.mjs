// An issuer in a process of its own, which a test can stop and pause. It prints a token once it listens.
import { createServer } from "node:http";
import { exportJWK, importPKCS8, SignJWT } from "jose";

const [port, resource, pem] = process.argv.slice(2);
const issuer = `http://127.0.0.1:${port}`;
const key = await importPKCS8(pem, "ES256", { extractable: true });
const { d, ...publicKey } = await exportJWK(key);
const server = createServer((_, response) => {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ keys: [{ ...publicKey, kid: "one", alg: "ES256" }] }));
});
server.listen(Number(port), "127.0.0.1", async () => {
  const now = Math.floor(Date.now() / 1_000);
  const claims = { iss: issuer, aud: resource, sub: "ada", client_id: "app", iat: now, exp: now + 6 * 3_600 };
  const token = await new SignJWT(claims).setProtectedHeader({ alg: "ES256", kid: "one", typ: "at+jwt" }).sign(key);
  process.stdout.write(`${token}\n`);
});
