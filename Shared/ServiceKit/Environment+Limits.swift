import Models

// Limits that one service enforces and another one publishes.

extension Environment {
    /// The conversations that a user may have: `store` enforces the limit, `ingest` publishes it.
    public mutating func conversationsPerUser() throws(ConfigurationError) -> Int {
        try integer("PARLEY_CONVERSATIONS_PER_USER", default: ContractLimits.conversationsPerUser, in: 10...1_000_000)
    }
}
