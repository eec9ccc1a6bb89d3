/// The account that every made world has, for whoever tries to log in; none of it is a secret.
public enum SimulatorAccount {
    /// The e-mail address.
    public static let user = "ada@example.org"
    /// The password.
    public static let password = "difference engine"
    /// Shelby 2012: an OAuth access token that need not be asked for.
    public static let oauthToken = "ada-oauth-token"
    /// Shelby 2012: the secret of that token; signatures are not verified.
    public static let oauthSecret = "ada-oauth-secret"
    /// Shelby v1: a token that need not be asked for.
    public static let authToken = "ada-auth-token"
}
