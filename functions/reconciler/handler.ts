import { createHandler } from './app.ts';

export const handler = createHandler(process.env);
