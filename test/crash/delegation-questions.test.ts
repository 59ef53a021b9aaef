import { delegateThroughDeath } from './harness/delegation-suite.ts';

delegateThroughDeath({ question: 'changes of clients too' });
