import { execFile, execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";

const program = join(import.meta.dirname, "fixtures/fetch-named.mjs");

test("a certificate must be for the requested name, whatever the address is", async () => {
  const folder = mkdtempSync(join(tmpdir(), "portolan-tls-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const request = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
  const name = ["-subj", "/CN=idp.example", "-addext", "subjectAltName=DNS:idp.example"];
  execFileSync("openssl", [...request, ...name, "-keyout", key, "-out", cert], { stdio: "ignore" });

  const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (asked, response) => {
    response.end(`${(asked.socket as TLSSocket & { servername: string }).servername} ${asked.headers.host}`);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;

  const urls = [`https://idp.example:${port}/`, `https://other.example:${port}/`];
  const env = { ...process.env, NODE_EXTRA_CA_CERTS: cert };
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...urls], { env });
  const [trusted, misnamed] = JSON.parse(stdout);
  expect(trusted).toBe(`idp.example idp.example:${port}`);
  expect(misnamed).toMatch(/^connection-closed: .*(other\.example).*altnames/);

  const untrusting = await promisify(execFile)(process.execPath, [program, `https://idp.example:${port}/`]);
  expect(untrusting.stdout).toContain("self-signed certificate");
});
