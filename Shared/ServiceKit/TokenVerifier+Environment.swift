extension TokenVerifier {
    /// Reads the verifier from `PARLEY_JWT_*`: exactly one key or key file, and optional requirements.
    public init(environment: inout Environment) throws(ConfigurationError) {
        let keyFile = environment.optionalString("PARLEY_JWT_KEYS_FILE")
        let keys = try Self.keys(&environment, keyFile)
        let policy = Policy(
            issuer: environment.optionalString("PARLEY_JWT_ISSUER"),
            audience: environment.optionalString("PARLEY_JWT_AUDIENCE"),
            longestLifetime: try Self.longestLifetime(&environment))
        self.init(keys: keys, keyFile: keyFile, policy: policy)
    }

    private static func longestLifetime(_ environment: inout Environment) throws(ConfigurationError) -> Duration? {
        let variable = "PARLEY_JWT_LONGEST_LIFETIME"
        guard let text = environment.optionalString(variable) else { return nil }
        guard let duration = Duration(text: text), duration >= .seconds(1) else {
            throw ConfigurationError(variable, "must be a whole number with the unit s, m or h, not \"\(text)\"")
        }
        return duration
    }

    private static func keys(
        _ environment: inout Environment, _ keyFile: String?
    ) throws(ConfigurationError) -> TokenKeySet {
        let secret = try environment.secret("PARLEY_JWT_SECRET")
        let publicKey = try environment.file("PARLEY_JWT_PUBLIC_KEY_FILE")
        switch (secret, publicKey, keyFile) {
        case (let secret?, nil, nil):
            return TokenKeySet(
                try key("PARLEY_JWT_SECRET") { () throws(TokenKeyError) in try TokenKey(secret: secret) })
        case (nil, let pem?, nil):
            return TokenKeySet(
                try key("PARLEY_JWT_PUBLIC_KEY_FILE") { () throws(TokenKeyError) in try TokenKey(publicKeyPEM: pem) })
        case (nil, nil, let path?):
            return try key("PARLEY_JWT_KEYS_FILE") { () throws(TokenKeyError) in try TokenKeySet(file: path) }
        case (nil, nil, nil):
            throw ConfigurationError(
                "PARLEY_JWT_SECRET",
                "or PARLEY_JWT_SECRET_FILE, PARLEY_JWT_PUBLIC_KEY_FILE or PARLEY_JWT_KEYS_FILE must be set")
        default:
            throw ConfigurationError(
                secret == nil ? "PARLEY_JWT_PUBLIC_KEY_FILE" : "PARLEY_JWT_SECRET",
                "must not be set together with \(keyFile == nil ? "PARLEY_JWT_PUBLIC_KEY_FILE" : "PARLEY_JWT_KEYS_FILE")"
            )
        }
    }

    private static func key<Key>(
        _ variable: String, _ make: () throws(TokenKeyError) -> Key
    ) throws(ConfigurationError) -> Key {
        do throws(TokenKeyError) { return try make() } catch { throw ConfigurationError(variable, error.description) }
    }
}
