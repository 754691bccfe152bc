/// The limits of the contract that hold in every deployment, or of which a deployment may only set smaller ones. Each is
/// written here and nowhere else: services enforce these values, SQL is given them, and `GET /v1/limits` publishes them.
///
/// Sizes are bytes of UTF-8 or of a whole body; everything else is a count unless its type says otherwise.
public enum ContractLimits {
    // MARK: What a request may bring

    /// Of one message's text.
    public static let textBytes = 16 * 1024
    /// Of the body of any request but a batch.
    public static let bodyBytes = 128 * 1024
    public static let batchBytes = 4 * 1024 * 1024
    public static let batchMessages = 500
    /// That one request creates a conversation with.
    public static let membersPerRequest = 1_000
    /// Unicode scalars.
    public static let titleCharacters = 200
    public static let mentionsPerMessage = 100

    // MARK: What there may be

    public static let membersPerConversation = 10_000
    public static let conversationsPerUser = 20_000
    /// In conversations of up to so many members, receipts name who has received and read, and members see who is online.
    /// In larger ones receipts are counted and nobody is shown: somebody always comes or goes there.
    public static let namedMembers = 50
    /// Of each sender, in a conversation whose receipts are counted.
    public static let countedMessages = 50

    // MARK: Time

    /// From the sending of a message to the last moment at which its text may be changed.
    public static let editWindow = Duration.seconds(15 * 60)

    // MARK: Pages

    /// A page of anything ends here, though it may hold fewer than its limit.
    public static let pageBytes = 512 * 1024
    public static let conversationsPerPage: Int64 = 200
    public static let membersPerPage: Int64 = 1_000
    public static let messagesPerPage: Int64 = 200
    public static let changesPerPage: Int64 = 1_000
    public static let pagesPerDigest: Int64 = 20
    public static let resultsPerPage: Int64 = 100

    // MARK: WebSocket

    /// Of a client's frame …
    public static let frameBytes = 64 * 1024
    /// … other than its first: a `hello` with cursors of thousands of conversations is larger.
    public static let helloBytes = 1024 * 1024
    /// Of one conversation or private stream, that a resumed session is sent. Behind more the client pages by HTTP.
    public static let replayChanges = 1_000
}
