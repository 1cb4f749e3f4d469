// The server's pages in a real browser, against the server of examples/scripted.rs: node pages.mjs URL
// Run in a folder with the packages @sparticuz/chromium and puppeteer-core.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(process.cwd() + "/");
const load = async (name) => (await import(pathToFileURL(require.resolve(name)))).default;
const chromium = await load("@sparticuz/chromium");
const puppeteer = await load("puppeteer-core");
const url = process.argv[2];

const browser = await puppeteer.launch({
  args: [...chromium.args, "--no-sandbox"],
  executablePath: await chromium.executablePath(),
  headless: "shell",
});
const problems = [];
const page = await browser.newPage();
page.on("pageerror", (error) => problems.push(String(error)));
page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
page.on("request", (request) => request.url().startsWith(url) || problems.push("loads " + request.url()));

const texts = (selector) => page.$$eval(selector, (all) => all.map((one) => one.textContent));
const idle = () => page.waitForFunction(() => !document.getElementById("send").hidden, { timeout: 10000 });
async function ask(text) {
  await page.type("#text", text);
  await page.keyboard.press("Enter");
}

async function chat() {
  await page.goto(url + "/");
  // Without a key the page asks for one.
  await page.waitForSelector("#key:not([hidden])");
  assert.match(problems.splice(0).join(), /401/);
  await page.type("#key", "secret");
  await page.$eval("#key", (key) => key.blur());
  await page.waitForFunction(() => document.getElementById("model").value === "test");
  await ask("say <b>Hello</b>, world ✓");
  await idle();
  assert.deepEqual(await texts(".assistant"), ["<b>Hello</b>, world ✓"]);
  assert.match((await texts("#status"))[0], /tokens/);
  await ask("say <think>because</think>answer");
  await idle();
  assert.equal((await texts(".reasoning"))[1], "because");
  assert.equal((await texts(".assistant"))[1], "becauseanswer");
}

async function stop() {
  await ask("forever");
  await page.waitForFunction(() => [...document.querySelectorAll(".assistant")].at(-1).textContent.length > 20);
  await page.click("#stop");
  await idle();
  assert.match((await texts(".assistant")).at(-1), /^on on /);
}

async function errors() {
  await ask("refuse this");
  await idle();
  assert.match((await texts(".error"))[0], /refused|as asked/);
  assert.match(problems.splice(0).join(), /400/);
  await ask("fail lost");
  await idle();
  assert.match((await texts(".error"))[1], /lost/);
  await page.click("#clear");
  assert.deepEqual(await texts(".message"), []);
  await ask("say again");
  await idle();
  assert.deepEqual(await texts(".assistant"), ["again"]);
}

async function documentation() {
  await page.goto(url + "/docs");
  await page.waitForSelector("details");
  const paths = await texts("summary code");
  assert.ok(paths.includes("/v1/chat/completions") && paths.length >= 16, String(paths));
  const fields = await texts("details td code");
  assert.ok(fields.includes("messages *") && fields.includes("temperature"), String(fields));
}

for (const test of [chat, stop, errors, documentation]) {
  await test();
  assert.deepEqual(problems, []);
  console.log("passes", test.name);
}
await browser.close();
