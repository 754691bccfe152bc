import Models

// Limits that one service keeps and another one tells.

extension Environment {
    /// How many conversations a user may have: `store` sees to it, `ingest` tells clients.
    public mutating func conversationsPerUser() throws(ConfigurationError) -> Int {
        try integer("PARLEY_CONVERSATIONS_PER_USER", default: ContractLimits.conversationsPerUser, in: 10...1_000_000)
    }
}
