// Runs on old versions of Node too, to say what is wrong: nothing here, nor in its imports, may be newer than they are.
const oldest = 24;
if (Number(process.versions.node.split('.')[0]) < oldest) {
  console.error(
    `Sealpost needs Node ${oldest} or newer; this is ${process.versions.node} (${process.execPath}).\n` +
      'Start it with "npm start" after "npm ci" without --ignore-scripts, which brings its own Node, or install a newer one.',
  );
  process.exit(1);
}
await import('./start.ts');
