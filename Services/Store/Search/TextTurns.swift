import Reactor

/// Divides the work on texts, folding them and finding words in them, into pieces between which everything else goes on:
/// one piece a millisecond, whoever it is for, and the askers in turn.
///
/// Pieces are counted in bytes. The smallest is one text, whose limit is 16 KiB.
@Reactor
final class TextTurns {
    /// Whoever works begins another piece when this one would become larger.
    nonisolated static let pieceBytes = 16 * 1024
    private static let pause = Duration.milliseconds(1)

    /// What of the present piece was used; the first one has yet to begin.
    struct Piece {
        fileprivate(set) var room = 0
    }

    private var waiting: [Asker: FIFO<UnsafeContinuation<Void, Never>>] = [:]
    private var ring = FIFO<Asker>()
    private var isPausing = false
    /// Pieces that were begun.
    private(set) var pieces = 0

    /// Takes room for a text from a piece, beginning the next one, when its turn has come, if there is not enough.
    func take(_ bytes: Int, into piece: inout Piece) async {
        if bytes > piece.room {
            await turn(of: .current)
            piece.room = max(bytes, Self.pieceBytes)
        }
        piece.room -= bytes
    }

    private func turn(of asker: Asker) async {
        pieces += 1
        guard isPausing else { return pauseBehindPiece() }
        await withUnsafeContinuation { continuation in
            if waiting[asker] == nil { ring.append(asker) }
            waiting[asker, default: FIFO()].append(continuation)
        }
    }

    /// The next turn comes later than whatever is ready by then.
    private func pauseBehindPiece() {
        isPausing = true
        Reactor.after(Self.pause) { [self] in
            isPausing = false
            giveTurn()
        }
    }

    private func giveTurn() {
        guard let asker = ring.popFirst() else { return }
        let continuation = waiting[asker]!.popFirst()!
        if waiting[asker]!.isEmpty { waiting[asker] = nil } else { ring.append(asker) }
        pauseBehindPiece()
        continuation.resume()
    }
}
