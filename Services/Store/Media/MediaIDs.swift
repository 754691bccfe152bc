import Models

extension MediaID {
    /// The ids of a text as `media_of` makes it.
    static func list(_ text: String?) -> [MediaID] {
        (text ?? "").split(separator: ",").compactMap { UUIDBytes(String($0)).map { MediaID($0) } }
    }
}
