// An MCP client made of the official TypeScript SDK. It makes the calls of its first
// argument, one after the other, with the server that its other arguments start, and
// prints what a model would see in a client that prefers structured content.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const [calls, command, ...args] = process.argv.slice(2);
const client = new Client({ name: 'test', version: '1' });
await client.connect(new StdioClientTransport({ command, args, env: process.env }));
const { tools } = await client.listTools(); // from now on answers are checked against the output schemas
const seen = [];
for (const { name, arguments: given, timeout } of JSON.parse(calls)) {
  const [job] = JSON.stringify(seen).match(/job_\w+/) ?? []; // stands in for JOB
  try {
    const answer = await client.callTool({ name, arguments: JSON.parse(JSON.stringify(given).replace('JOB', job)) }, undefined, { timeout });
    seen.push(answer.structuredContent ?? { text: answer.content.map((part) => part.text).join('\n') });
  } catch (error) {
    seen.push({ error: { code: String(error.code), message: String(error) } });
  }
}
console.log(JSON.stringify({ version: client.getServerVersion().version, instructions: client.getInstructions(), schemas: tools.filter((tool) => tool.outputSchema).length, seen }));
await client.close();
