/** The store itself could not do what was asked. The message says where, what and what helps; it holds no secret. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
}
