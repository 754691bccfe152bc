import JSON
import Models

extension JSONReader {
    mutating func wellFormedUUID() throws(JSONError) -> UUIDBytes {
        let uuid = try uuid()
        guard uuid.isWellFormed else { throw failure(.invalidValue("a UUID in lower case"), at: offset - 1) }
        return uuid
    }

    mutating func users() throws(JSONError) -> [UserID] {
        var users: [UserID] = []
        try beginArray()
        while try nextElement() { users.append(try userID()) }
        return users
    }

    /// A time from 1970 to 9999, the range that responses can show.
    mutating func timeForDisplay() throws(JSONError) -> Timestamp {
        let time = try timestamp()
        guard (0...253_402_300_799_999).contains(time.milliseconds) else {
            throw failure(.invalidValue("a time from 1970 to 9999"), at: offset - 1)
        }
        return time
    }
}
